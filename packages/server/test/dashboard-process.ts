// The dashboard in a process of its own, for tests that watch it from outside. NDD_SERVER_URL says where the server is.
import { startDashboard } from '../src/index.ts'

const { NDD_SERVER_URL: serverUrl = '' } = process.env
const dashboard = await startDashboard({ host: '127.0.0.1', port: 0, serverUrl })
console.log(`serves ${dashboard.address}`)
process.once('SIGTERM', () => void dashboard.stop())
