"""What a process that decodes reads first: imported in the process that tests fork theirs from."""

from io import BytesIO

from lapwing.results.plotting import new_figure, write_picture
from lapwing.service import decoding_process
from lapwing.service.decoding import warm_up

warm_up()
figure = new_figure((4, 3))
figure.subplots()
write_picture(figure, BytesIO(), kind="png")
decoding_process._NICER = 0  # a test waits for its results
