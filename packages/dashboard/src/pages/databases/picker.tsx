// Selects the database of the data pages, for the root token.
import { useEffect } from 'preact/hooks'
import { go } from '../../address.ts'
import { databases, refreshDatabases } from '../../databases.ts'
import { access, chooseDatabase } from '../../session.ts'

export function DatabasePicker() {
  const now = access.value
  const isRoot = now.kind === 'root'
  useEffect(() => {
    if (isRoot) refreshDatabases().catch(() => undefined)
  }, [isRoot])
  if (now.kind !== 'root') return null
  const all = databases.value ?? []
  if (all.length === 0) return null
  return (
    <label class="field picker">
      <span class="label">Database</span>
      <select
        value={now.database}
        onInput={(event) => {
          chooseDatabase(event.currentTarget.value)
          go('#/collections')
        }}
      >
        {all.map(({ name, isActive }) => (
          <option key={name} value={name}>
            {isActive ? name : `${name} (deactivated)`}
          </option>
        ))}
      </select>
    </label>
  )
}
