/** Drawers and confirmation dialogs. When one closes, the focus returns to where it was. */
import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog } from "@base-ui/react/dialog";
import type { ReactElement, ReactNode } from "react";
import { Button, IconButton } from "./button.tsx";

const backdrop = "fixed inset-0 z-40 bg-[oklch(0.2_0.02_245/0.35)] fade-in";

interface DrawerProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly children: ReactNode;
}

export function Drawer({ isOpen, onClose, title, children }: DrawerProps): ReactElement {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={backdrop} />
        <Dialog.Popup className="fixed inset-y-0 right-0 z-50 flex w-full max-w-md flex-col bg-raised shadow-raised slide-in focus:outline-none">
          <header className="flex items-center justify-between gap-2 border-b border-line py-2 pr-2 pl-4">
            <Dialog.Title className="truncate text-lg font-semibold">{title}</Dialog.Title>
            <Dialog.Close render={<IconButton icon="close" label="Close" />} />
          </header>
          <div className="scroll-thin min-h-0 flex-1 overflow-y-auto">{children}</div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface ConfirmProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  readonly title: string;
  readonly children: ReactNode;
  /** The verb on the confirm button. It is the same as on the button that opened the dialog. */
  readonly action: string;
  readonly isDangerous?: boolean;
  /**
   * The text can be longer than the window. It scrolls separately and takes the focus, so that arrow keys scroll it.
   */
  readonly isLong?: boolean;
}

export function Confirm(props: ConfirmProps): ReactElement {
  const { isOpen, onClose, onConfirm, title, children, action, isDangerous = false, isLong = false } = props;
  const confirm = (): void => {
    onClose();
    onConfirm();
  };
  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={backdrop} />
        <AlertDialog.Popup className="fixed top-1/2 left-1/2 z-50 w-[min(30rem,calc(100vw-2rem))] -translate-x-1/2 -translate-y-1/2 flex max-h-[85dvh] flex-col rounded-lg bg-raised py-5 shadow-raised fade-in focus:outline-none">
          <AlertDialog.Title className="px-5 text-lg font-semibold">{title}</AlertDialog.Title>
          <AlertDialog.Description
            render={<div />}
            {...(isLong ? { tabIndex: 0 } : {})}
            className="scroll-thin mt-2 min-h-0 overflow-y-auto px-5 text-base text-ink-2"
          >
            {children}
          </AlertDialog.Description>
          <div className="mt-5 flex justify-end gap-2 px-5">
            <AlertDialog.Close render={<Button>Cancel</Button>} />
            <Button look={isDangerous ? "danger" : "primary"} onClick={confirm}>
              {action}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

interface PopupProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly isTitleHidden?: boolean;
  readonly children: ReactNode;
}

/** A dialog near the top of the page, for the command palette and help. */
export function Popup({ isOpen, onClose, title, isTitleHidden = false, children }: PopupProps): ReactElement {
  return (
    <Dialog.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={backdrop} />
        <Dialog.Popup className="fixed top-[max(1rem,12vh)] left-1/2 z-50 flex max-h-[70vh] w-[min(38rem,calc(100vw-2rem))] -translate-x-1/2 flex-col overflow-hidden rounded-lg bg-raised shadow-raised fade-in focus:outline-none">
          <Dialog.Title className={isTitleHidden ? "sr-only" : "border-b border-line px-4 py-3 text-lg font-semibold"}>
            {title}
          </Dialog.Title>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
