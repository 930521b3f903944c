// @annal/client/http: requests to a server without the typed operations. For programs that use routes of their own choice, and that need
// the errors, deadlines and retries of the client: the dashboard is one.
export { AnnalError, type AnnalErrorDetails, type ClientErrorCode } from '../errors.ts'
export type { CallOptions, Transport } from '../transport.ts'
export { adminRoutes } from './admin-routes.ts'
export { backupRoutes } from './backup-routes.ts'
export { changeRoutes } from './change-routes.ts'
export { historyRoutes } from './history-routes.ts'
export { nameRoutes } from './name-routes.ts'
export type { HttpOptions } from './peer.ts'
export { type HttpRequests, httpRequests, type RequestOptions } from './requests.ts'
export { type HttpReply, type HttpRequest, objectPath, type RetryRule, segment } from './route.ts'
export { systemRoutes } from './system-routes.ts'
export { routedTransport } from './transport.ts'
