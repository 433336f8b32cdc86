"""Where the parts are joined: the agreed document, publication, what a person is told."""
