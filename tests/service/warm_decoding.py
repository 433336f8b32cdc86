"""What a process that decodes reads first: imported in the process that tests fork theirs from."""

from lapwing.service.decoding import warm_up

warm_up()
