// The branches of a collection as a drawn tree, and the aliases of the database: creates branches, promotes them, and switches aliases.
import { useState } from 'preact/hooks'
import { href } from '../../address.ts'
import { type LogEvent, logEvents } from '../../api/log.ts'
import { type AliasInfo, type BranchInfo, deleteAlias, listAliases, listBranches } from '../../api/past.ts'
import { useLoad } from '../../load.ts'
import { TypedConfirmation } from '../../parts/dialog.tsx'
import { Badge, Panel } from '../../parts/panel.tsx'
import { Empty, Show } from '../../parts/states.tsx'
import { Name } from '../../parts/stored.tsx'
import { actions, Table } from '../../parts/table.tsx'
import { tell } from '../../parts/toast.tsx'
import { count, dateTime } from '../../show.ts'
import { refresh } from '../../watch.ts'
import type { CollectionTab } from '../collection-tab.ts'
import { AliasDialog } from './alias-dialog.tsx'
import { BranchDialog } from './branch-dialog.tsx'
import { type BranchRow, rowsOf } from './branch-tree.ts'
import { PromoteDialog } from './promote-dialog.tsx'

const everyMs = 10_000
const eventsMax = 500
/** While the server reads its log, each reply has read one more step. */
const readingMs = 100

type Open =
  | { readonly kind: 'branch' }
  | { readonly kind: 'promote'; readonly name: string }
  | { readonly kind: 'put'; readonly alias: AliasInfo | undefined }
  | { readonly kind: 'delete'; readonly alias: AliasInfo }

export function Branches({ collection, again }: CollectionTab) {
  const { name } = collection
  const [open, setOpen] = useState<Open>()
  const branches = useLoad((signal) => listBranches(name, { signal }), [name], { everyMs })
  const aliases = useLoad((signal) => listAliases({ signal }), [], { everyMs })
  const promotions = useLoad((signal) => promotionsOf(signal), [name])
  const close = () => setOpen(undefined)
  const changed = () => {
    close()
    branches.again()
    aliases.again()
    promotions.again()
    again()
    void refresh()
  }
  const known = aliases.kind === 'ready' ? aliases.value : []
  const promoted = promotions.kind === 'ready' ? promotions.value : []
  return (
    <div class="stack">
      <Panel
        flush
        title="Branches"
        actions={
          <button type="button" class="primary" onClick={() => setOpen({ kind: 'branch' })}>
            New branch…
          </button>
        }
      >
        <Show source={branches}>
          {(found) => (
            <Tree
              rows={rowsOf(found)}
              here={name}
              aliases={known}
              promotions={promoted}
              onPromote={(name) => setOpen({ kind: 'promote', name })}
            />
          )}
        </Show>
      </Panel>
      <Panel
        flush
        title="Aliases of this database"
        actions={
          <button type="button" onClick={() => setOpen({ kind: 'put', alias: undefined })}>
            New alias…
          </button>
        }
      >
        <Show source={aliases}>{(found) => <AliasTable aliases={found} onOpen={setOpen} />}</Show>
      </Panel>
      {open?.kind === 'branch' && <BranchDialog collection={name} onClose={close} onDone={changed} />}
      {open?.kind === 'promote' && (
        <PromoteDialog
          name={open.name}
          others={branches.kind === 'ready' ? branches.value.filter(isLive).map((other) => other.name) : []}
          onClose={close}
          onDone={changed}
        />
      )}
      {open?.kind === 'put' && <AliasDialog alias={open.alias} collection={name} onClose={close} onDone={changed} />}
      {open?.kind === 'delete' && (
        <TypedConfirmation
          title="Delete alias"
          name={open.alias.name}
          action="Delete alias"
          onClose={close}
          onConfirm={async () => {
            await deleteAlias(open.alias.name)
            tell(`Alias ${open.alias.name} deleted.`)
            changed()
          }}
        >
          <p>Requests by this name fail afterwards. The collection {open.alias.collection} stays.</p>
        </TypedConfirmation>
      )}
    </div>
  )
}

function isLive({ deletedAt }: BranchInfo): boolean {
  return deletedAt === undefined
}

/** The promotions among the newest events of the database. */
async function promotionsOf(signal: AbortSignal): Promise<readonly LogEvent[]> {
  for (;;) {
    const { events, complete } = await logEvents({ limit: eventsMax }, { signal })
    if (complete) return events.filter(({ type }) => type === 'collection-promoted')
    await new Promise((resolve) => setTimeout(resolve, readingMs))
  }
}

const rowHeight = 64
const columnWidth = 22
/** Deeper branches are drawn in the last column. */
const columnsMax = 8
const xOf = (column: number) => 18 + Math.min(column, columnsMax) * columnWidth
const yOf = (row: number) => row * rowHeight + rowHeight / 2

function Tree(props: {
  readonly rows: readonly BranchRow[]
  readonly here: string
  readonly aliases: readonly AliasInfo[]
  readonly promotions: readonly LogEvent[]
  readonly onPromote: (name: string) => void
}) {
  const { rows } = props
  const width = xOf(rows.reduce((widest, { column }) => Math.max(widest, column), 0)) + 16
  const nameOf = new Map(rows.map(({ branch }) => [branch.id, branch.name]))
  return (
    <div class="branch-tree">
      <svg width={width} height={rows.length * rowHeight} aria-hidden="true" focusable="false">
        {rows.map(({ branch, column, parentRow }, i) =>
          parentRow === undefined ? null : (
            <path
              key={branch.id}
              class="edge"
              d={`M${xOf(rows[parentRow]!.column)} ${yOf(parentRow)} V${yOf(i) - 8} Q${xOf(rows[parentRow]!.column)} ${yOf(i)} ${xOf(rows[parentRow]!.column) + 8} ${yOf(i)} H${xOf(column)}`}
            />
          ),
        )}
        {rows.map(({ branch, column }, i) => (
          <circle
            key={branch.id}
            class={`${isLive(branch) ? 'live' : 'deleted'} ${branch.name === props.here && isLive(branch) ? 'here' : ''}`}
            cx={xOf(column)}
            cy={yOf(i)}
            r="6"
          />
        ))}
      </svg>
      <ol aria-label="Branches, each below its parent">
        {rows.map(({ branch }) => (
          <li key={branch.id} style={{ height: `${rowHeight}px` }}>
            <div class="grow">
              <div class="row tight names">
                {isLive(branch) ? (
                  <a
                    class="named"
                    href={href(['collections', branch.name, 'branches'])}
                    aria-current={branch.name === props.here ? 'true' : undefined}
                  >
                    <Name text={branch.name} />
                  </a>
                ) : (
                  <Name kind="muted" text={branch.name} />
                )}
                <Marks {...props} branch={branch} />
              </div>
              <div class="muted num truncate">{aboutOf(branch, nameOf)}</div>
            </div>
            {isLive(branch) && rows.length > 1 && (
              <button
                type="button"
                class="compact"
                aria-label={`Promote ${branch.name}`}
                onClick={() => props.onPromote(branch.name)}
              >
                Promote…
              </button>
            )}
          </li>
        ))}
      </ol>
    </div>
  )
}

function Marks(props: {
  readonly branch: BranchInfo
  readonly here: string
  readonly aliases: readonly AliasInfo[]
  readonly promotions: readonly LogEvent[]
}) {
  const { branch, here } = props
  if (!isLive(branch)) return <Badge kind="bad">deleted</Badge>
  const promotion = props.promotions.findLast(({ collection }) => collection === branch.name)
  return (
    <>
      {branch.name === here && <Badge kind="accent">this one</Badge>}
      {promotion && (
        <Badge kind="good">
          promoted at LSN {count(promotion.lsn)}
          {promotion.kept_as !== undefined && ` over ${promotion.kept_as}`}
        </Badge>
      )}
      {props.aliases
        .filter(({ collection }) => collection === branch.name)
        .map(({ name }) => (
          <Badge key={name}>alias {name}</Badge>
        ))}
    </>
  )
}

function aboutOf(branch: BranchInfo, nameOf: ReadonlyMap<number, string>): string {
  const { parentId, parentLsn, objects, createdAt, deletedAt } = branch
  const parent = parentId === undefined ? undefined : (nameOf.get(parentId) ?? 'another collection')
  return [
    ...(objects === undefined ? [] : [`${count(objects)} objects`]),
    ...(parent === undefined || parentLsn === undefined ? [] : [`${parent} as of LSN ${count(parentLsn)}`]),
    deletedAt === undefined ? dateTime(createdAt.getTime()) : `deleted ${dateTime(deletedAt.getTime())}`,
  ].join(' · ')
}

function AliasTable(props: { readonly aliases: readonly AliasInfo[]; readonly onOpen: (open: Open) => void }) {
  if (props.aliases.length === 0) {
    return (
      <Empty title="No aliases yet">
        <p>An alias is a second name for a collection. Every request accepts it.</p>
      </Empty>
    )
  }
  return (
    <Table heads={['Alias', 'Collection', { name: 'Since LSN', right: true }, 'Since', actions]}>
      {props.aliases.map((alias) => (
        <tr key={alias.name}>
          <td>
            <Name text={alias.name} />
          </td>
          <td>
            <a href={href(['collections', alias.collection])}>
              <Name text={alias.collection} />
            </a>
          </td>
          <td class="right num">{count(alias.lsn)}</td>
          <td class="fit num muted">{dateTime(alias.changedAt.getTime())}</td>
          <td class="fit">
            <span class="row tight together">
              <button
                type="button"
                class="compact"
                aria-label={`Switch ${alias.name}`}
                onClick={() => props.onOpen({ kind: 'put', alias })}
              >
                Switch…
              </button>
              <button
                type="button"
                class="compact danger"
                aria-label={`Delete ${alias.name}`}
                onClick={() => props.onOpen({ kind: 'delete', alias })}
              >
                Delete…
              </button>
            </span>
          </td>
        </tr>
      ))}
    </Table>
  )
}
