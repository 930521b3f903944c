// Health checks: each reason that the server gives, and what to do about it.
import { Badge, Panel } from '../../parts/panel.tsx'
import { serverHealth } from '../../watch.ts'

/** Advice by words of a reason. The first match is shown. */
const advice: readonly (readonly [RegExp, string])[] = [
  [/token/i, 'Set a token of at least 16 characters and restart the server.'],
  [/audit/i, 'Check that the audit folder of the data directory is writable and that the disk has free space.'],
  [/disk|space|full/i, 'Free space on the disk of the data directory. Writes resume automatically.'],
  [
    /quarantin|damaged/i,
    'Restore the collection from a backup under a new name. The other collections remain available.',
  ],
  [/backup|archive/i, 'Create a backup now and check why the last one failed.'],
  [/licen[cs]e/i, 'Activate a license. No restart is needed.'],
  [/fsync|slow/i, 'Check the health of the disk and which other processes write to it.'],
  [/memory/i, 'Delete unused data, use a smaller precision, or give the server more memory.'],
  [
    /serving thread/i,
    'Read in the server log why they exit, and restart the server. The other threads serve meanwhile.',
  ],
  [/root token/i, 'Set a root token of 32 random bytes and restart the server.'],
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
            ? 'Every acknowledged write is durable and visible. No action is needed.'
            : 'This token may not read the reason. See the server log.'}
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
  return advice.find(([words]) => words.test(reason))?.[1] ?? 'See the server log for details.'
}
