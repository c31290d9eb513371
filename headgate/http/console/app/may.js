/** Whether this person may change anything here: an operator, on a server that is not read-only. */

import { createContext, useContext } from "./dom.js";

export const MayWrite = createContext(false);
export const useMayWrite = () => useContext(MayWrite);
