// The list of databases, for the root token: the frame selects one, the databases page manages them.

import type { DatabaseInfo } from '@annal/client'
import { signal } from '@preact/signals'
import { client } from './api/client.ts'
import { access, chooseDatabase } from './session.ts'

export const databases = signal<readonly DatabaseInfo[] | undefined>(undefined)

export async function refreshDatabases(): Promise<void> {
  const all = await client('control').databases.list()
  databases.value = all
  const now = access.value
  if (now.kind !== 'root') return
  const chosen = all.some(({ name }) => name === now.database)
  if (!chosen) chooseDatabase((all.find(({ isActive }) => isActive) ?? all[0])?.name)
}
