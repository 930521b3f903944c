// How far a long step is, on stderr beside what a benchmark says: nothing of a short one, a line every ten seconds of a long one.
const everyMs = 10_000

export function progress(what: string, total: number): (done: number) => void {
  const begun = performance.now()
  let reported = begun
  return (done) => {
    const now = performance.now()
    if (now - reported < everyMs) return
    reported = now
    process.stderr.write(`${what}: ${done} of ${total}, ${Math.round((now - begun) / 1000)} s\n`)
  }
}
