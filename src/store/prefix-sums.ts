/** A growing list of numbers, and the sums of its beginnings. Each operation takes logarithmic time. */
export interface PrefixSums {
  append(value: number): void;
  /** Adds `difference` to the value at `index`. */
  change(index: number, difference: number): void;
  /** The first index up to which, inclusive, the values sum up to `total` or more; the length if there is none. */
  indexOf(total: number): number;
}

/** Creates an empty list, as a Fenwick tree. No value may be negative. */
export function createPrefixSums(): PrefixSums {
  /** `sums[i - 1]` is the sum of the values from `i - lowestBit(i)` to `i - 1`. */
  const sums: number[] = [];
  return {
    append(value) {
      const place = sums.length + 1;
      let sum = value;
      for (let step = 1; step < lowestBit(place); step *= 2) sum += sums[place - step - 1] as number;
      sums.push(sum);
    },
    change(index, difference) {
      for (let place = index + 1; place <= sums.length; place += lowestBit(place)) {
        sums[place - 1] = (sums[place - 1] as number) + difference;
      }
    },
    indexOf(total) {
      let place = 0;
      let missing = total;
      for (let step = highestPower(sums.length); step >= 1; step /= 2) {
        const sum = sums[place + step - 1] ?? Infinity;
        if (sum >= missing) continue;
        place += step;
        missing -= sum;
      }
      return place;
    },
  };
}

function lowestBit(place: number): number {
  return place & -place;
}

/** The highest power of two up to `length`; 0 for 0. */
function highestPower(length: number): number {
  return length === 0 ? 0 : 2 ** (31 - Math.clz32(length));
}
