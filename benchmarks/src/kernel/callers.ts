// Concurrent callers, each of which sends its next query after the previous answer.
export interface CallerTimes {
  readonly seconds: number
  /** CPU time of the calling thread for all callers. */
  readonly mainSeconds: number
  /** Latency of each query, sorted. */
  readonly latenciesMs: readonly number[]
}

export async function runCallers(
  callers: number,
  count: number,
  query: (i: number) => Promise<void>,
): Promise<CallerTimes> {
  const latenciesMs: number[] = []
  let next = 0
  const caller = async () => {
    while (next < count) {
      const begun = performance.now()
      await query(next++)
      latenciesMs.push(performance.now() - begun)
    }
  }
  const cpu = process.threadCpuUsage()
  const begun = performance.now()
  await Promise.all(Array.from({ length: callers }, caller))
  const seconds = (performance.now() - begun) / 1000
  const { user, system } = process.threadCpuUsage(cpu)
  return { seconds, mainSeconds: (user + system) / 1e6, latenciesMs: latenciesMs.sort((a, b) => a - b) }
}
