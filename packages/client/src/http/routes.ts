// Every operation as an HTTP request and reply. Defines paths and bodies, not sockets or retries.
import type { OperationName } from '../operations.ts'
import { adminRoutes } from './admin-routes.ts'
import { backupRoutes } from './backup-routes.ts'
import { changeRoutes } from './change-routes.ts'
import { collectionRoutes } from './collection-routes.ts'
import { historyRoutes, scheduleRoutes } from './history-routes.ts'
import { indexRoutes } from './index-routes.ts'
import { nameRoutes } from './name-routes.ts'
import type { Routes } from './route.ts'
import { systemRoutes } from './system-routes.ts'

export const routes: Routes<OperationName> = {
  ...systemRoutes,
  ...indexRoutes,
  ...collectionRoutes,
  ...backupRoutes,
  ...adminRoutes,
  ...historyRoutes,
  ...changeRoutes,
  ...nameRoutes,
  ...scheduleRoutes,
}
