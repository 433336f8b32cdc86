"""The collector: reports come in over HTTP, distributions go out; nothing lost or counted twice."""
