#!/bin/sh
# nvidia-smi on a machine without a driver, whatever the machine of the test has.
echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver." >&2
exit 9
