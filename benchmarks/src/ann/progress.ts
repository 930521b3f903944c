// How far a long step is, on stderr beside what a benchmark says: nothing of a short one, a line every ten seconds of a long one.
const everyMs = 10_000

export function progress(what: string, of: number): (done: number) => void {
  const begun = performance.now()
  let told = begun
  return (done) => {
    const now = performance.now()
    if (now - told < everyMs) return
    told = now
    process.stderr.write(`${what}: ${done} of ${of}, ${Math.round((now - begun) / 1000)} s\n`)
  }
}
