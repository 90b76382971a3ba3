"""The command `hereya-tf`, and `python -m hereya_tf`."""

from hereya_tf.cli import main

if __name__ == "__main__":
    main()
