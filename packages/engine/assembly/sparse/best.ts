// The best hits so far: a binary heap whose root is the worst of them. A hit has 16 bytes: score i64, ordinal u32, unused u32. Of equal
// scores, the smaller ordinal is better.

@inline
function isWorse(a: usize, b: usize): bool {
  const x = load<i64>(a)
  const y = load<i64>(b)
  return x < y || (x == y && load<u32>(a, 8) > load<u32>(b, 8))
}

@inline
function swap(a: usize, b: usize): void {
  const score = load<i64>(a)
  const id = load<u32>(a, 8)
  store<i64>(a, load<i64>(b))
  store<u32>(a, load<u32>(b, 8), 8)
  store<i64>(b, score)
  store<u32>(b, id, 8)
}

@inline
function put(hit: usize, score: i64, id: u32): void {
  store<i64>(hit, score)
  store<u32>(hit, id, 8)
}

function siftDown(heap: usize, from: u32, size: u32): void {
  let i = from
  for (;;) {
    let child: u32 = 2 * i + 1
    if (child >= size) return
    if (child + 1 < size && isWorse(heap + (<usize>(child + 1) << 4), heap + (<usize>child << 4))) child++
    if (!isWorse(heap + (<usize>child << 4), heap + (<usize>i << 4))) return
    swap(heap + (<usize>child << 4), heap + (<usize>i << 4))
    i = child
  }
}

/** Adds a hit to a heap of `size` hits that has space. */
export function addHit(heap: usize, size: u32, score: i64, id: u32): void {
  let i = size
  put(heap + (<usize>i << 4), score, id)
  while (i > 0) {
    const parent = (i - 1) >> 1
    if (!isWorse(heap + (<usize>i << 4), heap + (<usize>parent << 4))) return
    swap(heap + (<usize>i << 4), heap + (<usize>parent << 4))
    i = parent
  }
}

/** Replaces the worst hit by a better one. */
export function replaceWorst(heap: usize, size: u32, score: i64, id: u32): void {
  put(heap, score, id)
  siftDown(heap, 0, size)
}

/** Sorts the heap, best hit first. */
export function sortHits(heap: usize, size: u32): void {
  for (let left = size; left > 1; ) {
    left--
    swap(heap, heap + (<usize>left << 4))
    siftDown(heap, 0, left)
  }
}
