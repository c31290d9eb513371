/** What components are made of: elements written as tagged templates, and hooks. */

import { h, render, createContext, Fragment } from "../vendor/preact.js";
import { useCallback, useContext, useEffect, useId, useMemo, useRef, useState } from "../vendor/hooks.js";
import htm from "../vendor/htm.js";

export const html = htm.bind(h);

export { createContext, Fragment, h, render };
export { useCallback, useContext, useEffect, useId, useMemo, useRef, useState };
