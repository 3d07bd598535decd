class View {
public:
    __device__ View(float* p, int n) : data_(p), n_(n) {}
    __device__ float& operator()(int r, int c) { return data_[r * n_ + c]; }
    __device__ float operator()(int r, int c) const { return data_[r * n_ + c]; }
    __device__ bool holds(int r, int c) const { return r < n_ && c < n_; }

private:
    float* data_;
    int n_;
};

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    const View a(M, Width), b(N, Width);
    View out(P, Width);
    const auto r = blockIdx.y * blockDim.y + threadIdx.y;
    const auto c = blockIdx.x * blockDim.x + threadIdx.x;
    if (!out.holds(r, c)) return;
    auto sum = 0.0f;
    for (auto k = 0; k < Width; ++k) sum += a(r, k) * b(k, c);
    out(r, c) = sum;
}
