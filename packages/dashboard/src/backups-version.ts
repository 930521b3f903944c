// Changes when a backup was made, uploaded, or deleted: every panel about backups reads the server again then.
import { signal } from '@preact/signals'

export const backupsVersion = signal(0)

export function backupsChanged(): void {
  backupsVersion.value += 1
}
