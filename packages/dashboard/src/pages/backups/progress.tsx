// Progress of the running backup. Renders nothing while none runs.
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { client } from '../../api/client.ts'
import { backupsChanged } from '../../backups-version.ts'
import { useLoad } from '../../load.ts'
import { Bar, Panel } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { Name } from '../../parts/stored.tsx'

const runningMs = 400
const idleMs = 5_000
const begun = signal(0)

/** Set when a backup was just started here, to poll at once. */
export function watchBackup(): void {
  begun.value += 1
}

export function BackupProgress() {
  const [running, setRunning] = useState(false)
  const status = useLoad((signal) => client().backups.status({ signal }), [begun.value], {
    everyMs: running ? runningMs : idleMs,
  })
  const job = status.kind === 'ready' ? status.value : undefined
  useEffect(() => {
    setRunning(job?.status === 'running')
    if (job !== undefined) backupsChanged()
  }, [job?.status, job?.name])
  if (job?.status === 'failed') {
    return <Failure error={new Error(`backup ${job.name ?? ''} failed: ${job.error ?? 'see the server log'}`)} />
  }
  if (job?.status !== 'running') return null
  return (
    <Panel>
      <div class="stack tight" role="status">
        <span>
          Backup{' '}
          <strong>
            <Name text={job.name ?? ''} />
          </strong>{' '}
          of {job.collection} is being made.
        </span>
        <Bar share={(job.percent ?? 0) / 100} label="Backup progress" />
      </div>
    </Panel>
  )
}
