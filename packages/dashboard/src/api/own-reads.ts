// The requests by which this page keeps itself up to date. The list of the newest requests leaves them out: they are not what a reader looks
// for. Which line is whose a line does not say, but how many of them are ours can: as many lines of a path are left out as this tab
// requested, the newest ones, and what others request of the same path stays in the list.

const storageKey = 'annal.reads'
/** The server keeps as many lines (requestLogMax). */
const keptMax = 500

/** Method and path, oldest first. They outlive a reload of the page, as the lines of the server do. */
let reads: string[] = typeof sessionStorage === 'undefined' ? [] : rememberedReads()

/** Remembers a request that no person sent, once it was answered. */
export function noteRead(method: string, path: string): void {
  reads.push(`${method} ${path}`)
  if (reads.length > 2 * keptMax) reads = reads.slice(-keptMax)
}

globalThis.addEventListener?.('pagehide', () =>
  sessionStorage.setItem(storageKey, JSON.stringify(reads.slice(-keptMax))),
)

function rememberedReads(): string[] {
  const kept: unknown = JSON.parse(sessionStorage.getItem(storageKey) ?? '[]')
  return Array.isArray(kept) ? kept.filter((read) => typeof read === 'string') : []
}

/** `2026-07-10T10:57:32Z INFO: default/docs: GET /api/v2/health 200 (1.5ms)`: method and path. */
const form = /: ([A-Z]+ \S+) \d{3} \([^()]*\)$/
/** The files of the page. */
const files = /^GET \/(assets\/\S+)?$/

/** Lines of the server, oldest first, without those of this page. */
export function withoutReads(lines: readonly string[]): readonly string[] {
  const ours = new Map<string, number>()
  for (const read of reads.slice(-keptMax)) ours.set(read, (ours.get(read) ?? 0) + 1)
  return lines
    .toReversed()
    .filter((line) => isOfOthers(form.exec(line)?.[1], ours))
    .toReversed()
}

function isOfOthers(request: string | undefined, ours: Map<string, number>): boolean {
  if (request === undefined) return true
  if (files.test(request)) return false
  const left = ours.get(request) ?? 0
  if (left > 0) ours.set(request, left - 1)
  return left === 0
}
