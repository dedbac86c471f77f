#!/bin/sh
# Prints the price of an order in cents: price.sh QUANTITY UNIT_PRICE
quantity=$1
unit=$2
total=$((quantity + unit))
# Ten pieces or more: ten percent off.
if [ "$quantity" -gt 10 ]; then
    total=$((total - total / 10))
fi
echo "$total"
