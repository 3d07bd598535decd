//!tilelab block=(16,16) grid=(ceil(Width/64), ceil(Width/64)) 
namespace gemm {
constexpr int BM = 64, BN = 64, BK = 8, TM = 4, TN = 4;
constexpr int THREADS = (BM / TM) * (BN / TN);
template <typename T, int N> struct Array {
    T storage[N];
    __device__ __forceinline__ T& operator[](int i) { return storage[i]; }
    __device__ __forceinline__ const T& operator[](int i) const { return storage[i]; }
    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < N; ++i) storage[i] = T(0);
    }
};
struct TensorRef {
    const float* ptr; int ld;
    __device__ float at(int r, int c) const { return (r < ld && c < ld) ? ptr[r * ld + c] : 0.f; }
};
struct SharedStorage { float a[BK][BM]; float b[BK][BN]; };
}
extern "C" __global__ void __launch_bounds__(256, 2) MatrixMulKernel(float const* __restrict__ M, float const* __restrict__ N, float* __restrict__ P, int Width)
{
    using namespace gemm;
    __shared__ SharedStorage smem;
    TensorRef ra{M, Width}, rb{N, Width};
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    int tm = (tid / (BN / TN)) * TM, tn = (tid % (BN / TN)) * TN;
    Array<Array<float, TN>, TM> acc;
#pragma unroll
    for (int i = 0; i < TM; ++i) acc[i].clear();
    for (int k0 = 0; k0 < Width; k0 += BK) {
        for (int i = tid; i < BM * BK; i += THREADS) smem.a[i % BK][i / BK] = ra.at(blockIdx.y * BM + i / BK, k0 + i % BK);
        for (int i = tid; i < BK * BN; i += THREADS) smem.b[i / BN][i % BN] = rb.at(k0 + i / BN, blockIdx.x * BN + i % BN);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            Array<float, TM> fa; Array<float, TN> fb;
#pragma unroll
            for (int i = 0; i < TM; ++i) fa[i] = smem.a[k][tm + i];
#pragma unroll
            for (int j = 0; j < TN; ++j) fb[j] = smem.b[k][tn + j];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) acc[i][j] += fa[i] * fb[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            int r = blockIdx.y * BM + tm + i, c = blockIdx.x * BN + tn + j;
            if (r < Width && c < Width) P[r * Width + c] = acc[i][j];
        }
}
