#!/bin/bash
# Our RMPP and the kernel's, between two HCAs beside an OpenSM with a large table.
read -r server client _ <<<"$SOFTIB_CLIENTS"
exec "$VM_TEST" guest rmpp "$server" "$client"
