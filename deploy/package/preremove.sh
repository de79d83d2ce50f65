#!/bin/sh
# Ends the agent before its program goes; an upgrade leaves it to run on until it is started again. Debian says
# "remove", rpm the number of versions that stay.
set -e
if [ "$1" = remove ] || [ "$1" = 0 ]; then
	if [ -d /run/systemd/system ]; then systemctl disable --now weft-agent.service; fi
fi
