// A live tail of the change feed: every change of the database, or of one collection, as it becomes durable.
import { useEffect, useRef, useState } from 'preact/hooks'
import { href, parameters } from '../../address.ts'
import { type Change, changes } from '../../api/past.ts'
import { AnnalError } from '../../api/request.ts'
import { asError } from '../../load.ts'
import { NumberField, SelectField } from '../../parts/form.tsx'
import { Badge, PageHead, Panel } from '../../parts/panel.tsx'
import { Empty, Failure } from '../../parts/states.tsx'
import { Name, Said } from '../../parts/stored.tsx'
import { count, dateTime } from '../../show.ts'
import { collections } from '../../watch.ts'
import { describeChange, kinds } from './describe-change.ts'

const shownMax = 200
/** A busy server has hundreds of changes in a second; the page is drawn a few times. */
const drawMs = 250
const all = ''

interface Wish {
  readonly collection: string
  readonly kind: string
  /** The first LSN; undefined: after the newest record. */
  readonly from: number | undefined
}

export function Changes() {
  const [wish, setWish] = useState<Wish>({
    collection: parameters.value.get('collection') ?? all,
    kind: all,
    from: undefined,
  })
  const [from, setFrom] = useState<number>()
  const [paused, setPaused] = useState(false)
  const tail = useTail(wish, paused)
  const names = (collections.value ?? []).map(({ name }) => name)
  const gone = wish.collection === all || names.includes(wish.collection) ? [] : [wish.collection]
  return (
    <>
      <PageHead
        title="Changes"
        actions={
          <>
            <State {...tail} paused={paused} />
            <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
              {paused ? 'Continue' : 'Pause'}
            </button>
          </>
        }
      />
      <div class="stack">
        <Panel title="Follow">
          <form
            class="feed-wish"
            onSubmit={(event) => {
              event.preventDefault()
              setWish({ ...wish, from })
            }}
          >
            <SelectField
              label="Collection"
              value={wish.collection}
              options={[[all, 'Whole database'], ...[...names, ...gone].map((name) => [name, name] as const)]}
              onInput={(collection) => setWish({ ...wish, collection })}
            />
            <SelectField
              label="Kind"
              value={wish.kind}
              options={[[all, 'All kinds'], ...kinds.map((kind) => [kind, kind] as const)]}
              onInput={(kind) => setWish({ ...wish, kind })}
            />
            <div class="with-button">
              <NumberField label="From LSN" value={from} min={1} placeholder="new changes" onInput={setFrom} />
              <button type="submit">Follow from here</button>
            </div>
          </form>
        </Panel>
        {tail.error && <Failure error={tail.error} retry={tail.again} />}
        <Panel
          flush
          title={
            <span class="num">
              {count(tail.total)} {tail.total === 1 ? 'change' : 'changes'}
            </span>
          }
          actions={<span class="muted">Newest first, at most {shownMax}</span>}
        >
          {tail.shown.length === 0 ? (
            <Empty title="No changes yet">
              <p>Changes appear here when they are durable. Enter an LSN to see earlier ones.</p>
            </Empty>
          ) : (
            <ol class="events" aria-label="Changes, newest first">
              {tail.shown.map((change) => (
                <One key={`${change.kind} ${change.lsn}`} change={change} />
              ))}
            </ol>
          )}
        </Panel>
        <p class="muted">
          While this page is open and not paused, it uses one stream of the server. At most a tenth of all connections
          can be streams; further ones get <code>too_many_streams</code>. After a pause the feed continues where it
          stopped, as long as the log and its archive have the records.
        </p>
      </div>
    </>
  )
}

function State(props: { readonly isOpen: boolean; readonly error: Error | undefined; readonly paused: boolean }) {
  if (props.error) return <Badge kind="bad">ended</Badge>
  if (props.paused) return <Badge kind="warn">paused</Badge>
  return props.isOpen ? <Badge kind="good">live</Badge> : <Badge>connecting</Badge>
}

function One({ change }: { readonly change: Change }) {
  const { lsn, time, kind, collection } = change
  const there = collections.value?.some(({ name }) => name === collection)
  const ids = [...(change.objects ?? []).map(({ id }) => id), ...(change.deleted ?? []), ...(change.left ?? [])]
  return (
    <li class="change">
      <span class="num lsn">{count(lsn)}</span>
      <span class="grow">
        {collection !== undefined && (
          <strong>
            <Name text={collection} />
          </strong>
        )}{' '}
        <Said text={describeChange(change)} />{' '}
        {ids.slice(0, idsShown).map((id) =>
          there && collection !== undefined ? (
            <a key={id} class="mono" href={href(['collections', collection, 'objects'], { id, view: 'history' })}>
              <Name text={id} />{' '}
            </a>
          ) : (
            <span key={id} class="mono">
              <Name text={id} />{' '}
            </span>
          ),
        )}
        {ids.length > idsShown && <span class="muted">and {count(ids.length - idsShown)} more</span>}
      </span>
      <Badge>{kind}</Badge>
      <span class="num muted time">{dateTime(time.getTime())}</span>
    </li>
  )
}

const idsShown = 5

interface Tail {
  /** Newest first. */
  readonly shown: readonly Change[]
  readonly total: number
  readonly isOpen: boolean
  readonly error: Error | undefined
  readonly again: () => void
}

/** Follows the feed until the wish changes, it is paused, or the page is left. A broken stream is opened again by the button only. */
function useTail(wish: Wish, paused: boolean): Tail {
  const [state, setState] = useState<Omit<Tail, 'again'>>(nothing)
  const [round, setRound] = useState(0)
  const key = JSON.stringify(wish)
  const place = useRef<{ readonly key: string; readonly from: number | undefined }>({ key, from: wish.from })
  useEffect(() => {
    if (place.current.key !== key) {
      place.current = { key, from: wish.from }
      setState(nothing)
    }
    if (paused) return
    const abort = new AbortController()
    let waiting: Change[] = []
    const draw = () => {
      if (waiting.length === 0) return
      const fresh = waiting.reverse()
      waiting = []
      setState((before) => ({
        ...before,
        shown: [...fresh, ...before.shown].slice(0, shownMax),
        total: before.total + fresh.length,
      }))
    }
    const timer = setInterval(draw, drawMs)
    const follow = async () => {
      const { collection, kind } = wish
      const stream = await changes(
        {
          from: place.current.from,
          ...(collection !== all && { collections: [collection] }),
          ...(kind !== all && { kinds: [kind] }),
        },
        abort.signal,
      )
      setState((before) => ({ ...before, isOpen: true, error: undefined }))
      for await (const { changes, lsn } of stream) {
        if (abort.signal.aborted) return
        waiting.push(...changes)
        place.current = { key, from: lsn + 1 }
      }
      throw new AnnalError('unreachable', 'the server ended the stream')
    }
    follow().catch((error: unknown) => {
      if (!abort.signal.aborted) setState((before) => ({ ...before, isOpen: false, error: asError(error) }))
    })
    return () => {
      abort.abort()
      clearInterval(timer)
      draw()
      setState((before) => ({ ...before, isOpen: false, error: undefined }))
    }
  }, [key, paused, round])
  return { ...state, again: () => setRound(round + 1) }
}

const nothing: Omit<Tail, 'again'> = { shown: [], total: 0, isOpen: false, error: undefined }
