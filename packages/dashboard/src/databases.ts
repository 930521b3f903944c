// The list of databases, for the root token: the frame selects one, the databases page manages them.
import { signal } from '@preact/signals'
import { type Database, listDatabases } from './api/databases.ts'
import { access, chooseDatabase } from './session.ts'

export const databases = signal<readonly Database[] | undefined>(undefined)

export async function refreshDatabases(): Promise<void> {
  const all = await listDatabases()
  databases.value = all
  const now = access.value
  if (now.kind !== 'root') return
  const chosen = all.some(({ db_name: name }) => name === now.database)
  if (!chosen) chooseDatabase(all.find(({ is_active: active }) => active)?.db_name ?? all[0]?.db_name)
}
