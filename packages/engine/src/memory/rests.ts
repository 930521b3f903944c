// Long work as a generator that rests now and then. Whoever runs it decides what happens in a rest.

/** Runs to the end at once. */
export function withoutRests<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}
