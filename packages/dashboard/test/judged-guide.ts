// Questions that people ask about Annal, and the pages of the guide that answer them, judged by hand: 2 answers it, 1 helps.
export const judgedGuide: readonly (readonly [question: string, grades: Readonly<Record<string, number>>])[] = [
  ['restoring a deleted collection', { 'backup-and-restore': 2, time: 2, history: 1 }],
  ['copying backups to object storage', { 'backup-and-restore': 2, 'archive-to-a-bucket': 2 }],
  ['splitting long documents', { chunking: 2, text: 1 }],
  ['embedding provider configuration', { embedding: 2 }],
  ['searching as of yesterday', { time: 2 }],
  ['undoing a wrong write', { history: 2, time: 1 }],
  ['objects that expire', { expiry: 2 }],
  ['combining words and vectors', { hybrid: 2, text: 1, embedding: 1 }],
  ['stemming languages', { text: 2, chunking: 1 }],
  ['creating databases and tokens', { tokens: 2 }],
  ['importing from other databases', { 'import-and-migrate': 2 }],
  ['switching an alias', { 'aliases-and-branches': 2 }],
  ['following changes with a cursor', { changes: 2 }],
  ['connecting agents by MCP', { agents: 2 }],
  ['measuring nDCG', { judging: 2, tuning: 1 }],
  ['replaying recorded traffic', { replay: 2 }],
  ['adding a node to the cluster', { cluster: 2 }],
  ['avoiding lost updates', { 'conditional-writes': 2 }],
  ['filtering by number ranges', { 'search-and-filters': 2 }],
  ['installing with Docker', { install: 2, 'quick-start': 1 }],
  ['recall and ef', { tuning: 2, 'trade-offs': 1 }],
  ['running inside a Node.js program', { embedded: 2, typescript: 1 }],
]

const byNumber = judgedGuide.map(([text, grades], i) => ({ id: `g${i + 1}`, text, grades }))

/** As `annal evaluate` reads them. */
export const queriesFile = byNumber.map(({ id, text }) => JSON.stringify({ id, text })).join('\n')
export const gradesFile = byNumber
  .flatMap(({ id, grades }) => Object.entries(grades).map(([page, grade]) => `${id}\t${page}\t${grade}`))
  .join('\n')
