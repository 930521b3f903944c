// Health in words: each reason the server gives, and what to do about it.
import { Badge, Panel } from '../../parts/panel.tsx'
import { serverHealth } from '../../watch.ts'

/** By words of a reason. The first that fits is shown. */
const advice: readonly (readonly [RegExp, string])[] = [
  [/token/i, 'Set a token of at least 16 characters, then start the server again.'],
  [/audit/i, 'Look whether the audit folder of the data directory can be written and the disk has room.'],
  [/disk|space|full/i, 'Free space on the disk of the data directory. Writing resumes by itself.'],
  [/quarantin|damaged/i, 'Restore the collection from a backup under a new name. The others serve meanwhile.'],
  [/backup|archive/i, 'Make a backup now and look at why the last one failed.'],
  [/licen[cs]e/i, 'Activate a licence; everything unlocks at once.'],
  [/fsync|slow/i, 'Look at the disk: its own health, and who else writes to it.'],
  [/memory/i, 'Delete what is not needed, use a smaller precision, or give the server more memory.'],
  [/root token/i, 'Choose a root token of 32 random bytes and start again.'],
]

export function HealthPanel() {
  const health = serverHealth.value
  if (health === undefined) return null
  const ok = health.status === 'ok'
  return (
    <Panel
      title="Health"
      actions={<Badge kind={ok ? 'good' : health.status === 'failed' ? 'bad' : 'warn'}>{health.status}</Badge>}
    >
      {(health.reasons ?? []).length === 0 ? (
        <p class="muted">
          {ok
            ? 'Everything acknowledged is durable and visible. Nothing needs to be done.'
            : 'The server gives no reason to this token; its log does.'}
        </p>
      ) : (
        <ul class="stack tight">
          {health.reasons?.map((reason) => (
            <li key={reason}>
              <strong>{reason}</strong>
              <div class="muted">{adviceFor(reason)}</div>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function adviceFor(reason: string): string {
  return advice.find(([words]) => words.test(reason))?.[1] ?? 'The log of the server tells more.'
}
