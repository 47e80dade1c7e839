// Ctrl-C once: finish the step and save. A signal handler can only reach an object with static
// storage, so the flag is one.
#include "tapeless/train/interrupt.h"

#include <csignal>

namespace tapeless {

namespace {

volatile std::sig_atomic_t interrupts = 0;

void on_interrupt(int signal) {
  interrupts = interrupts + 1;
  std::signal(signal, SIG_DFL);  // the next one ends the process
}

}  // namespace

InterruptGuard::InterruptGuard(bool install) : installed_(install) {
  interrupts = 0;
  if (installed_) previous_ = std::signal(SIGINT, on_interrupt);
}

InterruptGuard::~InterruptGuard() {
  if (installed_) std::signal(SIGINT, previous_);
}

bool InterruptGuard::interrupted() const { return interrupts != 0; }

}  // namespace tapeless
