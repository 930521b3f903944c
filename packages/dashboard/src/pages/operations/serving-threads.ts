// The threads that accept connections, as the metrics show them.
import type { Sample } from './metrics-text.ts'

export interface ServingThread {
  /** Its number, or `main`. */
  readonly thread: string
  readonly searches: number
  readonly requests: number
  /** Undefined for a main thread that accepts no connections. */
  readonly connections: number | undefined
  readonly moved: number | undefined
}

/** The threads in the order of the metrics, the main thread first. */
export function servingThreads(samples: readonly Sample[]): readonly ServingThread[] {
  const values = (name: string) =>
    new Map(samples.filter((sample) => sample.name === name).map(({ labels, value }) => [labels.thread, value]))
  const [searches, connections, moved] = ['searches_total', 'connections', 'connections_moved_total'].map((name) =>
    values(`annal_thread_${name}`),
  )
  return [...values('annal_thread_requests_total')].map(([thread = '', requests]) => ({
    thread,
    requests,
    searches: searches?.get(thread) ?? 0,
    connections: connections?.get(thread),
    moved: moved?.get(thread),
  }))
}
