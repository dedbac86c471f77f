#!/bin/sh
# Tests of price.sh, in the Test Anything Protocol.
failed=0
number=0
check() {
    number=$((number + 1))
    got=$(sh ./price.sh "$2" "$3")
    if [ "$got" = "$4" ]; then
        echo "ok $number - $1"
    else
        failed=1
        echo "not ok $number - $1"
        echo "# price.sh $2 $3: expected $4, got $got"
    fi
}
echo "1..4"
check "one piece costs its price" 1 250 250
check "several pieces cost as many times" 3 250 750
check "ten pieces get the discount" 10 100 900
check "eleven pieces get the discount" 11 100 990
exit "$failed"
