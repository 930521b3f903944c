// Searches the past: the slider selects a moment, and the same search runs as of it and now, side by side.
import { useEffect, useRef, useState } from 'preact/hooks'
import { logActivity } from '../../api/log.ts'
import { loadedMoments, type Reach, type SearchBody, search, searchPast } from '../../api/search.ts'
import { asError, useLoad, useRested } from '../../load.ts'
import { Bar, Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Loading, Show } from '../../parts/states.tsx'
import { bytes, count, dateTime } from '../../show.ts'
import { LogSlider } from '../log/log-slider.tsx'
import { Agreement } from './agreement.tsx'
import { Answer } from './answer.tsx'
import type { Side } from './side.ts'

/** A moment that is being loaded takes seconds to minutes. */
const loadingMs = 1_000
/** While the server reads its log, each reply has read one more step. */
const readingMs = 100
/** New events move the end of the slider. */
const activityMs = 10_000
/** A search of the past costs more than one of the present: it waits until the slider stops. */
const restMs = 400

export interface PastSearchProps {
  readonly collection: string
  readonly lsn: number | undefined
  /** The search; undefined until one was started. */
  readonly body: SearchBody | undefined
  readonly onPick: (lsn: number) => void
  readonly onNear: (id: string) => void
}

export function PastSearch(props: PastSearchProps) {
  const [complete, setComplete] = useState(false)
  const activity = useLoad(
    async (signal) => {
      const found = await logActivity(props.collection, { signal })
      setComplete(found.complete)
      return found
    },
    [props.collection],
    { everyMs: complete ? activityMs : readingMs },
  )
  return (
    <Show source={activity}>
      {(found) => {
        if (!found.complete) return <Loading />
        const last = found.buckets.at(-1)?.lsn_last
        if (last === undefined) return <Empty title="The log has no events of this collection" />
        const lsn = props.lsn ?? last
        return (
          <>
            <LogSlider activity={found} collection={props.collection} lsn={lsn} onPick={props.onPick} />
            <ThenAndNow {...props} lsn={lsn} />
          </>
        )
      }}
    </Show>
  )
}

type Then =
  | { readonly kind: 'found'; readonly side: Side; readonly time: string }
  | { readonly kind: 'unreachable'; readonly error: string; readonly reach: Reach | undefined }
  | { readonly kind: 'failed'; readonly error: Error }

interface Outcome {
  readonly lsn: number
  readonly then: Then
  readonly now: Side | Error
}

function ThenAndNow(props: PastSearchProps & { readonly lsn: number }) {
  const { collection, body } = props
  const lsn = useRested(props.lsn, restMs)
  const [outcome, setOutcome] = useState<Outcome>()
  const [busy, setBusy] = useState(false)
  const latest = useRef(0)
  useEffect(() => {
    if (body === undefined) return
    const abort = new AbortController()
    latest.current += 1
    setBusy(true)
    void runBoth(collection, body, lsn, abort.signal).then((next) => {
      if (abort.signal.aborted) return
      setOutcome(next)
      setBusy(false)
    })
    return () => abort.abort()
  }, [collection, body, lsn])
  if (body === undefined) {
    return (
      <Panel>
        <Empty title="No search yet">
          <p>Enter a query for at least one field. The search runs as of the selected moment and now.</p>
        </Empty>
      </Panel>
    )
  }
  return (
    <>
      {busy && <MomentProgress collection={collection} />}
      {outcome === undefined ? <Loading lines={6} /> : <Both {...props} outcome={outcome} />}
    </>
  )
}

async function runBoth(collection: string, body: SearchBody, lsn: number, signal: AbortSignal): Promise<Outcome> {
  const now = await timed(() => search(collection, body, { signal })).then(
    ({ value, ms }): Side => ({ reply: value, body, ms }),
    asError,
  )
  const then = await timed(() => searchPast(collection, body, lsn, { signal })).then(
    ({ value, ms }): Then =>
      value.kind === 'found'
        ? { kind: 'found', side: { reply: value.reply, body, ms }, time: value.reply.as_of.time }
        : value,
    (error: unknown): Then => ({ kind: 'failed', error: asError(error) }),
  )
  return { lsn, then, now }
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const startedAt = performance.now()
  const value = await work()
  return { value, ms: performance.now() - startedAt }
}

function Both(props: PastSearchProps & { readonly outcome: Outcome }) {
  const { collection, onNear } = props
  const { lsn, then, now } = props.outcome
  const nowReply = now instanceof Error ? undefined : now.reply
  const thenReply = then.kind === 'found' ? then.side.reply : undefined
  const shared = { collection, onNear }
  return (
    <>
      {thenReply && nowReply && <Agreement a={thenReply} b={nowReply} names={['Then', 'Now']} />}
      <div class="halves">
        {then.kind === 'found' ? (
          <Answer
            title={`As of LSN ${count(lsn)}`}
            about={dateTime(Date.parse(then.time))}
            {...then.side}
            {...shared}
            {...(nowReply && { other: nowReply })}
          />
        ) : then.kind === 'failed' ? (
          <Panel title={`As of LSN ${count(lsn)}`}>
            <Failure error={then.error} />
          </Panel>
        ) : (
          <Unreachable lsn={lsn} {...then} onPick={props.onPick} />
        )}
        {now instanceof Error ? (
          <Panel title="Now">
            <Failure error={now} />
          </Panel>
        ) : (
          <Answer title="Now" {...now} {...shared} {...(thenReply && { other: thenReply })} />
        )}
      </div>
    </>
  )
}

function Unreachable(props: {
  readonly lsn: number
  readonly error: string
  readonly reach: Reach | undefined
  readonly onPick: (lsn: number) => void
}) {
  const { reach } = props
  return (
    <Panel title={`As of LSN ${count(props.lsn)}`}>
      <div class="stack tight">
        <div class="notice warn" role="alert">
          <span>
            <code>moment_unreachable</code> {props.error}
          </span>
        </div>
        {reach && (
          <>
            <p class="num">
              Searches reach LSN {count(reach.lsn_first)} ({dateTime(Date.parse(reach.time_first))}) to{' '}
              {count(reach.lsn_last)} ({dateTime(Date.parse(reach.time_last))}).
            </p>
            <div class="row">
              <button type="button" onClick={() => props.onPick(reach.lsn_first)}>
                Go to the oldest moment
              </button>
            </div>
          </>
        )}
        <p class="muted">
          <code>NDD_ARCHIVE_HOURS</code> sets how far back searches and restores reach.
        </p>
      </div>
    </Panel>
  )
}

/** Shown while a search waits for its moment. */
function MomentProgress({ collection }: { readonly collection: string }) {
  const moments = useLoad((signal) => loadedMoments({ signal }), [collection], { everyMs: loadingMs })
  const loading =
    moments.kind === 'ready'
      ? moments.value.find((moment) => moment.collection === collection && moment.status === 'loading')
      : undefined
  if (loading === undefined) return null
  const { bytes_done: done, bytes: total } = loading
  return (
    <Panel>
      <div class="stack tight" role="status">
        <span class="num">
          Loading the moment: {bytes(done)} of {bytes(total)}. The search continues when it is loaded.
        </span>
        <Bar share={total === 0 ? 0 : done / total} label="Progress of loading the moment" />
      </div>
    </Panel>
  )
}
