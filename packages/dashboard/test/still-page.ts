// Replies of a real server without what differs from run to run: times, sizes of memory and files, durations, and digests.

/** Runs in the page before its scripts. */
export function freezeReplies(): void {
  const now = Date.UTC(2026, 4, 4, 10, 30)
  const isTime = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/
  const isDuration = /(^|_)(ms|age_seconds|uptime)$/
  const isSize = /^(size_bytes|size_mb|bytes)$/
  const isSeconds = /^(created_at|timestamp|started_at|completed_at)$/
  const together = (a: Record<string, unknown>, b: Record<string, unknown>): Record<string, unknown> => {
    const sums = Object.entries(b).map(([name, value]) => [
      name,
      name === 'lsn_first' || typeof value !== 'number'
        ? a[name]
        : name === 'lsn_last'
          ? value
          : Number(a[name]) + value,
    ])
    return Object.fromEntries(sums)
  }
  const frozen = (value: unknown, key: string, inMemory: boolean): unknown => {
    // How many seconds the writes of the test took is in the number of bars.
    if (key === 'buckets' && Array.isArray(value) && value.length > 1)
      return frozen([value.reduce(together)], '', false)
    if (Array.isArray(value)) return value.map((item) => frozen(item, key, inMemory))
    if (typeof value === 'object' && value !== null) {
      const entries = Object.entries(value)
      return Object.fromEntries(entries.map(([name, item]) => [name, frozen(item, name, inMemory || key === 'memory')]))
    }
    if (typeof value === 'string' && isTime.test(value)) return new Date(now).toISOString()
    if (typeof value !== 'number') return value
    if (isDuration.test(key)) return 1.25
    if (isSeconds.test(key)) return now / 1_000
    if (inMemory || isSize.test(key)) return value === 0 ? 0 : 2 ** Math.round(Math.log2(value))
    return value
  }
  const send = window.fetch
  window.fetch = async (input, init) => {
    const response = await send(input, init)
    if (!response.headers.get('content-type')?.startsWith('application/json')) return response
    const text = JSON.stringify(frozen(await response.json(), '', false))
    return new Response(text, { status: response.status, headers: response.headers })
  }
  Date.now = () => now
  performance.now = () => 0
}
