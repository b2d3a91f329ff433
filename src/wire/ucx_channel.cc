#include "src/wire/ucx_channel.h"

#include <poll.h>
#include <ucs/debug/log_def.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

namespace latchlab::ucx {

namespace {

constexpr unsigned kMessage = 0;  // the kind of active message that we use

/// Keeps UCX's own lines away: a client that goes is no error of ours, and an error is reported in one line.
ucs_log_func_rc_t say_nothing(const char*, unsigned, const char*, ucs_log_level_t, const ucs_log_component_config_t*,
                              const char*, va_list) {
  return UCS_LOG_FUNC_RC_STOP;
}

/// Guards the making and the end of contexts, which share tables of the library.
std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

void check(std::string_view what, ucs_status_t status) {
  if (status != UCS_OK) throw UcxError(what, status);
}

ucp_context_h make_context() {
  // A user who asks for UCX's own lines gets them.
  static const bool quiet = [] {
    const bool asked = std::getenv("UCX_LOG_LEVEL") != nullptr;
    if (!asked) ucs_log_push_handler(say_nothing);
    return !asked;
  }();
  (void)quiet;
  ucp_config_t* config = nullptr;
  check("UCX's configuration", ucp_config_read(nullptr, nullptr, &config));
  ucs_status_t status = UCS_OK;
  for (const auto& [name, value] : {std::pair("MAX_EAGER_RAILS", "1"), std::pair("CM_REUSEADDR", "y")}) {
    if (status == UCS_OK) status = ucp_config_modify(config, name, value);
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.name = "latchlab";
  ucp_context_h context = nullptr;
  if (status == UCS_OK) status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  check("UCX has no transport here", status);
  return context;
}

}  // namespace

UcxError::UcxError(std::string_view what, ucs_status_t status)
    : std::runtime_error(std::string(what) + ": " + ucs_status_string(status)) {}

Worker::Worker() {
  const std::scoped_lock lock(library_mutex());
  context_ = make_context();
  try {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // the main thread makes a server's worker for its loop
    check("UCX makes no worker", ucp_worker_create(context_, &params, &worker_));
    check("UCX cannot wait", ucp_worker_get_efd(worker_, &file_));
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                         UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = kMessage;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = take_message;
    handler.arg = this;
    check("UCX takes no active messages", ucp_worker_set_am_recv_handler(worker_, &handler));
  } catch (...) {
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
    throw;
  }
}

Worker::~Worker() {
  const std::scoped_lock lock(library_mutex());
  ucp_worker_destroy(worker_);
  ucp_cleanup(context_);
}

void Worker::sleep(int file, u32 most_ms) {
  // UCX arms its file only when nothing is left to do, so that nothing is missed in between.
  if (ucp_worker_arm(worker_) != UCS_OK) return;
  std::array<pollfd, 2> files{
      {{.fd = file_, .events = POLLIN, .revents = 0}, {.fd = file, .events = POLLIN, .revents = 0}}};
  poll(files.data(), files.size(), static_cast<int>(most_ms));
}

std::vector<Channel*> Worker::take_changed() {
  for (Channel* const channel : changed_) channel->noted_ = false;
  return std::exchange(changed_, {});
}

ucs_status_t Worker::take_message(void* worker, const void* head, std::size_t head_bytes, void* data, std::size_t bytes,
                                  const ucp_am_recv_param_t* how) {
  if ((how->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0) return UCS_OK;  // no channel of ours says that
  auto& channels = static_cast<Worker*>(worker)->channels_;
  const auto found = channels.find(how->reply_ep);
  if (found == channels.end()) return UCS_OK;
  Channel& channel = *found->second;
  Channel::Head ours{};
  if (head_bytes != sizeof ours || (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    channel.fail();
    return UCS_OK;
  }
  std::memcpy(&ours, head, sizeof ours);
  channel.take_message(ours, {static_cast<const char*>(data), bytes});
  return UCS_OK;  // UCX may use its memory again: the bytes are copied
}

Channel::Channel(Worker& worker, ucp_ep_params_t how) : worker_(worker) {
  how.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  how.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  how.err_handler.cb = [](void* channel, ucp_ep_h, ucs_status_t) { static_cast<Channel*>(channel)->fail(); };
  how.err_handler.arg = this;
  check("UCX makes no endpoint", ucp_ep_create(worker_.get(), &how, &endpoint_));
  worker_.channels_.emplace(endpoint_, this);
}

Channel::~Channel() {
  end();
  while (!ended()) {
    if (!worker_.progress()) std::this_thread::yield();
  }
}

void Channel::send(std::string_view bytes) {
  rest_ = bytes;
  push();
}

void Channel::greet() {
  owes_message_ = true;
  push();
}

void Channel::finish() {
  finishes_ = true;
  owes_message_ = true;
  push();
}

std::size_t Channel::take_sent() { return std::exchange(sent_lately_, 0); }

void Channel::take(std::size_t bytes) {
  taken_ += bytes;
  taken_of_input_ += bytes;
  if (taken_of_input_ == input_.size()) {
    input_.clear();
    taken_of_input_ = 0;
  }
  push();
}

void Channel::push() {
  // UCX may send a message at once, so one after the other.
  while (!posted_ && !broken_ && !ends_) {
    const u64 room = kWindowBytes - (sent_ - confirmed_);
    piece_ = std::min<std::size_t>({rest_.size(), kPieceBytes, room});
    if (piece_ == 0 && !owes_message_ && taken_ - told_ < kWindowBytes / 2) return;
    head_ = {.offset = sent_, .taken = taken_, .last = u64{finishes_ && piece_ == rest_.size()}};
    told_ = taken_;
    owes_message_ = false;
    posted_ = true;
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    how.flags = UCP_AM_SEND_FLAG_EAGER | UCP_AM_SEND_FLAG_REPLY;
    how.cb.send = [](void* request, ucs_status_t status, void* channel) {
      ucp_request_free(request);
      static_cast<Channel*>(channel)->note_posted(status);
      static_cast<Channel*>(channel)->push();
    };
    how.user_data = this;
    const ucs_status_ptr_t request =
        ucp_am_send_nbx(endpoint_, kMessage, &head_, sizeof head_, rest_.data(), piece_, &how);
    if (UCS_PTR_IS_PTR(request)) return;  // it calls back
    note_posted(UCS_PTR_STATUS(request));
  }
}

void Channel::note_posted(ucs_status_t status) {
  posted_ = false;
  if (status != UCS_OK) return fail();
  sent_ += piece_;
  sent_lately_ += piece_;
  rest_.remove_prefix(piece_);
  if (piece_ != 0) note_change();
}

void Channel::take_message(const Head& head, std::string_view bytes) {
  if (broken_) return;
  const bool honest = head.offset == received_ && head.taken >= confirmed_ &&
                      head.taken <= sent_ + (posted_ ? piece_ : 0) &&
                      received_ - taken_ + bytes.size() <= kWindowBytes && !other_finished_;
  if (!honest) return fail();
  greeted_ = true;
  received_ += bytes.size();
  confirmed_ = head.taken;
  other_finished_ = head.last != 0;
  if (taken_of_input_ > kWindowBytes) input_.erase(0, std::exchange(taken_of_input_, 0));
  input_ += bytes;
  push();
  note_change();
}

void Channel::fail() {
  broken_ = true;
  note_change();
}

void Channel::note_change() {
  if (ends_ || std::exchange(noted_, true)) return;
  worker_.changed_.push_back(this);
}

void Channel::end() {
  if (std::exchange(ends_, true)) return;
  worker_.channels_.erase(endpoint_);
  std::erase(worker_.changed_, this);
  ucp_request_param_t how{};
  how.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_EP_CLOSE_FLAG_FORCE;
  ending_ = ucp_ep_close_nbx(endpoint_, &how);
}

bool Channel::ended() {
  if (!ends_) return false;
  if (UCS_PTR_IS_PTR(ending_)) {
    if (ucp_request_check_status(ending_) == UCS_INPROGRESS) return false;
    ucp_request_free(std::exchange(ending_, nullptr));
  }
  return !posted_;
}

}  // namespace latchlab::ucx
