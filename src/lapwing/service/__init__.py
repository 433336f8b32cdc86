"""The collector: reports come in over HTTP, distributions go out. Nothing lost or counted twice."""
