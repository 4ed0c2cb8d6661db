# SPDX-License-Identifier: MIT
# Ordinary Perl at work, for `make demo`: words are counted, sorted, joined and searched.
use strict;
use warnings;

my $seconds = shift // 2;
my ($rounds, $found, %count) = (0, 0);
while ((times)[0] < $seconds) {
    my @words = map { "word" . $_ * 7919 % 1000 } 1 .. 5000;
    $count{$_}++ for @words;
    my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    my $text = join " ", @sorted;
    $found += () = $text =~ /\bword(\d*7)\b/g;
    $rounds++;
}
printf "work.pl: %d rounds, %d words, %d found\n", $rounds, scalar keys %count, $found;
