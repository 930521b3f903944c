// Backup schedules of collections: interval, number kept and next run; created, changed and deleted here.
import { useState } from 'preact/hooks'
import { href } from '../../address.ts'
import { deleteSchedule, type Every, listSchedules, type Schedule } from '../../api/schedules.ts'
import { backupsVersion } from '../../backups-version.ts'
import { useAction, useLoad } from '../../load.ts'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Show } from '../../parts/states.tsx'
import { Name } from '../../parts/stored.tsx'
import { actions, Table } from '../../parts/table.tsx'
import { tell } from '../../parts/toast.tsx'
import { count, dateTime } from '../../show.ts'
import { collections } from '../../watch.ts'
import { ScheduleDialog } from './schedule-dialog.tsx'

const everyMs = 5_000

export function Schedules() {
  const loaded = useLoad((signal) => listSchedules({ signal }), ['schedules'], {
    everyMs,
    version: backupsVersion.value,
  })
  const [openDialog, setOpenDialog] = useState<Schedule | 'new'>()
  const { error, run } = useAction()
  const all = loaded.kind === 'ready' ? loaded.value.schedules : []
  const without = (collections.value ?? []).filter(({ name }) => all.every(({ collection }) => collection !== name))
  const end = ({ collection }: Schedule) =>
    run(async () => {
      await deleteSchedule(collection)
      tell(`Schedule of ${collection} deleted. Its backups are kept.`)
      loaded.again()
    })
  return (
    <Panel
      flush
      title="Schedules"
      actions={
        <button type="button" class="compact" disabled={without.length === 0} onClick={() => setOpenDialog('new')}>
          <Icon name="plus" size={13} /> New schedule
        </button>
      }
    >
      {error && <Failure error={error} />}
      <Show source={loaded} lines={2}>
        {({ schedules, server }) => (
          <>
            {schedules.length === 0 ? (
              <Empty title={server === null ? 'No automatic backups' : 'No collection has its own schedule'}>
                {server && <p>{othersLine(server)}</p>}
              </Empty>
            ) : (
              <ScheduleTable schedules={schedules} onChange={setOpenDialog} onEnd={(schedule) => void end(schedule)} />
            )}
            {schedules.length > 0 && server && <p class="muted small more">{othersLine(server)}</p>}
          </>
        )}
      </Show>
      {openDialog && (
        <ScheduleDialog
          schedule={openDialog === 'new' ? undefined : openDialog}
          collections={without.map(({ name }) => name)}
          onClose={() => setOpenDialog(undefined)}
          onDone={() => {
            setOpenDialog(undefined)
            loaded.again()
          }}
        />
      )}
    </Panel>
  )
}

function ScheduleTable(props: {
  readonly schedules: readonly Schedule[]
  readonly onChange: (schedule: Schedule) => void
  readonly onEnd: (schedule: Schedule) => void
}) {
  return (
    <Table heads={['Collection', 'Every', 'Kept', 'Newest', 'Next', actions]}>
      {props.schedules.map((schedule) => (
        <tr key={schedule.collection}>
          <td>
            <a href={href(['collections', schedule.collection])}>
              <Name text={schedule.collection} />
            </a>
          </td>
          <td class="num">{hours(schedule.every_hours)}</td>
          <td class="num">
            {schedule.keep}
            {schedule.check && <span class="muted">, each verified</span>}
          </td>
          <td class="num">{schedule.last_at === null ? 'none yet' : dateTime(Date.parse(schedule.last_at))}</td>
          <td class="num">{nextOf(schedule)}</td>
          <td class="right fit">
            <button
              type="button"
              class="compact"
              aria-label={`Change the schedule of ${schedule.collection}`}
              onClick={() => props.onChange(schedule)}
            >
              Change
            </button>{' '}
            <button
              type="button"
              class="plain compact icon danger"
              aria-label={`Delete the schedule of ${schedule.collection}`}
              onClick={() => props.onEnd(schedule)}
            >
              <Icon name="trash" size={13} />
            </button>
          </td>
        </tr>
      ))}
    </Table>
  )
}

function nextOf({ next_at: next }: Schedule): string {
  if (next === null) return 'within two minutes'
  return Date.parse(next) <= Date.now() ? 'after the next change' : dateTime(Date.parse(next))
}

function othersLine({ every_hours: every, keep }: Every): string {
  return `All other changed collections are backed up every ${hours(every)}; ${keep} backups of each are kept (NDD_BACKUP_EVERY_HOURS).`
}

function hours(number: number): string {
  if (number % 24 === 0) return number === 24 ? 'day' : `${count(number / 24)} days`
  return number === 1 ? 'hour' : `${count(number)} hours`
}
