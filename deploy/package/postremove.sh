#!/bin/sh
# Has systemd forget the unit. Debian's purge removes the configuration too, by itself.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
