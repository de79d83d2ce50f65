#!/bin/sh
# Has systemd read the unit, where it runs. The agent starts when somebody enables it: it needs servers.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
