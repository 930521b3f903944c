// The JSON replies of the routes, by name. A test compares every reply of the contract's transcripts with them.
import { backupReplies } from './replies/backups.ts'
import { collectionReplies, rebuildReplies } from './replies/collections.ts'
import { historyReplies } from './replies/history.ts'
import { objectReplies } from './replies/objects.ts'
import { searchReplies } from './replies/searches.ts'
import { controlReplies, systemReplies } from './replies/system.ts'

export const replySchemas = {
  ...systemReplies,
  ...controlReplies,
  ...collectionReplies,
  ...objectReplies,
  ...searchReplies,
  ...rebuildReplies,
  ...backupReplies,
  ...historyReplies,
}
