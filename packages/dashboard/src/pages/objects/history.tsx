// The versions of one object, newest first: what each write changed, when, and who wrote it. Two of them are compared, and the object returns
// to any of them.
import { useState } from 'preact/hooks'
import { type ObjectVersion, type Versions, versionsOf } from '../../api/past.ts'
import { useLoad } from '../../load.ts'
import { SelectField } from '../../parts/form.tsx'
import { Badge } from '../../parts/panel.tsx'
import { Empty, Show } from '../../parts/states.tsx'
import { Json, Name } from '../../parts/stored.tsx'
import { Table } from '../../parts/table.tsx'
import { count, dateTime } from '../../show.ts'
import { UndoDialog } from './undo-dialog.tsx'
import { diffOf, type VersionDiff } from './version-diff.ts'

export interface HistoryProps {
  readonly collection: string
  readonly id: string
  readonly onWritten: () => void
}

export function History({ collection, id, onWritten }: HistoryProps) {
  const found = useLoad((signal) => versionsOf(collection, id, { signal }), [collection, id])
  const [undoing, setUndoing] = useState<number>()
  return (
    <>
      <Show source={found}>
        {({ versions, more }) =>
          versions.length === 0 ? (
            <Empty title="No versions">
              <p>The log and its archive have no write of this object.</p>
            </Empty>
          ) : (
            <div class="stack">
              <Comparison versions={versions} />
              <List versions={versions} more={more} onUndo={setUndoing} />
            </div>
          )
        }
      </Show>
      {undoing !== undefined && (
        <UndoDialog
          collection={collection}
          choice={{ ids: [id] }}
          lsn={undoing}
          onClose={() => setUndoing(undefined)}
          onWritten={onWritten}
        />
      )}
    </>
  )
}

function List(props: Versions & { readonly onUndo: (lsn: number) => void }) {
  const { versions, more } = props
  const newest = versions.at(-1)?.lsn
  return (
    <>
      {more && <p class="muted">Later versions are left out.</p>}
      <ol class="versions" aria-label="Versions, newest first">
        {[...versions].reverse().map((version) => (
          <li key={version.lsn} class="stack tight">
            <div class="row spread tight">
              <span class="row tight">
                <strong class="num">LSN {count(version.lsn)}</strong>
                <Badge kind={kindOf(version)}>{version.kind}</Badge>
                <span class="muted num">
                  {version.time === undefined ? 'or before' : dateTime(version.time.getTime())}
                </span>
                <bdi>{authorOf(version)}</bdi>
              </span>
              {(version.lsn !== newest || more) && (
                <button
                  type="button"
                  class="compact"
                  aria-label={`Undo to here: LSN ${version.lsn}`}
                  onClick={() => props.onUndo(version.lsn)}
                >
                  Undo to here…
                </button>
              )}
            </div>
            <Changes diff={diffOf([version], version.lsn - 1, version.lsn)} version={version} />
          </li>
        ))}
      </ol>
    </>
  )
}

function Changes({ diff, version }: { readonly diff: VersionDiff; readonly version: ObjectVersion }) {
  if (!diff.known) {
    return version.kind === 'deleted' ? null : <p class="muted">The log does not say what was there before.</p>
  }
  const { values, fields, metaBytes } = diff
  const others = [...fields.map((field) => `fields.${field}`), ...(metaBytes ? ['meta'] : [])]
  return (
    <div class="small wrap-anywhere">
      {values.map(({ key, before, after }) => (
        <div key={key}>
          <Name kind="mono" text={key} />{' '}
          {before !== undefined && (
            <del>
              <Json value={before} max={80} />
            </del>
          )}{' '}
          {after !== undefined && (
            <ins>
              <Json value={after} max={80} />
            </ins>
          )}
        </div>
      ))}
      {others.length > 0 && <div class="muted">{others.join(', ')} changed</div>}
      {version.asOfLsn !== undefined && <div class="muted">as of LSN {count(version.asOfLsn)}</div>}
    </div>
  )
}

function Comparison({ versions }: { readonly versions: readonly ObjectVersion[] }) {
  const [from, setFrom] = useState(versions.at(-2)?.lsn)
  const [to, setTo] = useState(versions.at(-1)?.lsn)
  if (versions.length < 2 || from === undefined || to === undefined) return null
  const options = [...versions].reverse().map(({ lsn, kind }) => [String(lsn), `LSN ${count(lsn)}, ${kind}`] as const)
  const diff = diffOf(versions, Math.min(from, to), Math.max(from, to))
  return (
    <fieldset class="stack tight">
      <legend>Compare two versions</legend>
      <div class="halves">
        <SelectField label="From" value={String(from)} options={options} onInput={(lsn) => setFrom(Number(lsn))} />
        <SelectField label="To" value={String(to)} options={options} onInput={(lsn) => setTo(Number(lsn))} />
      </div>
      <Difference diff={diff} />
    </fieldset>
  )
}

function Difference({ diff: { values, fields, metaBytes, known } }: { readonly diff: VersionDiff }) {
  const others = [...fields.map((field) => `fields.${field}`), ...(metaBytes ? ['meta'] : [])]
  return (
    <div class="stack tight" role="status">
      {values.length > 0 && (
        <Table heads={['Value', 'Before', 'After']}>
          {values.map(({ key, before, after }) => (
            <tr key={key}>
              <td class="mono">
                <Name text={key} />
              </td>
              <td class="mono">{before === undefined ? 'none' : <Json value={before} />}</td>
              <td class="mono">{after === undefined ? 'none' : <Json value={after} />}</td>
            </tr>
          ))}
        </Table>
      )}
      {others.length > 0 && <p>Written in between: {others.join(', ')}.</p>}
      {values.length === 0 && others.length === 0 && known && <p class="muted">The same content.</p>}
      {!known && <p class="muted">The log does not say what one of the writes in between changed.</p>}
    </div>
  )
}

function kindOf({ kind }: ObjectVersion): 'good' | 'bad' | 'accent' | undefined {
  if (kind === 'created') return 'good'
  if (kind === 'deleted') return 'bad'
  return kind === 'restored' ? 'accent' : undefined
}

function authorOf({ author }: ObjectVersion): string {
  if (author === undefined) return 'author unknown'
  return [author.token, author.actor].filter((part) => part !== '').join(', ')
}
