// What metrics show of requests and of the threads that answer them.

import { durationBounds, type RouteCounts } from '../observe/request-counts.ts'
import type { ServingFigures, ThreadFigures } from '../serving/serving-figures.ts'
import { counter, type Family, family, gauge, histogram } from './family.ts'

export function requestFamilies(routes: readonly RouteCounts[]): Family[] {
  const replies = routes.flatMap(({ method, route, byStatus }) =>
    byStatus.map(([status, value]) => ({ labels: { method, route, status }, value })),
  )
  return [
    family('counter', 'annal_http_requests_total', 'Requests that received a reply.', replies),
    histogram(
      'annal_http_request_seconds',
      'Time from the first byte of a request to the last byte of its reply.',
      durationBounds,
      routes.map(({ method, route, buckets, seconds }) => ({ labels: { method, route }, buckets, sum: seconds })),
    ),
  ]
}

export function servingFamilies({ running, lost, replaced, ...figures }: ServingFigures): Family[] {
  const threads = figures.threads()
  const byThread = (
    type: Family['type'],
    name: string,
    help: string,
    read: (each: ThreadFigures) => number | undefined,
  ) =>
    family(
      type,
      name,
      help,
      threads.flatMap((each) => {
        const value = read(each)
        return value === undefined ? [] : [{ labels: { thread: each.thread }, value }]
      }),
    )
  return [
    gauge('annal_serving_threads', 'Threads that accept connections.', running),
    counter('annal_serving_threads_lost_total', 'Serving threads that exited unexpectedly.', lost),
    counter(
      'annal_serving_threads_replaced_total',
      'Serving threads that were started to replace a lost one.',
      replaced,
    ),
    byThread('gauge', 'annal_thread_connections', 'Open connections, by thread.', (each) => each.connections?.open),
    byThread(
      'counter',
      'annal_thread_connections_accepted_total',
      'Connections accepted, by thread.',
      (each) => each.connections?.accepted,
    ),
    byThread(
      'counter',
      'annal_thread_connections_refused_total',
      'Connections closed at once because there were too many, by thread.',
      (each) => each.connections?.refused,
    ),
    byThread(
      'counter',
      'annal_thread_connections_moved_total',
      'Connections closed after a reply so that their clients connect to another thread, by thread.',
      (each) => each.connections?.moved,
    ),
    byThread(
      'counter',
      'annal_thread_requests_total',
      'Replies, by the thread that sent them.',
      (each) => each.requests,
    ),
    byThread(
      'counter',
      'annal_thread_searches_total',
      'Replies to searches, by the thread that sent them. A batch counts once.',
      (each) => each.searches,
    ),
  ]
}
