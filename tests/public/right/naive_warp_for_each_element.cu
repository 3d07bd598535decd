//!tilelab block=(32,4) grid=(Width, ceil(Width/4))
#define FULL_MASK 0xffffffff

__inline__ __device__ float warpSum(float v) {
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        v += __shfl_down_sync(FULL_MASK, v, offset);
    return v;
}

__global__ void MatrixMulKernel(const float* A, const float* B, float* C, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x;
    int lane = threadIdx.x;
    if (row < n) {  // the same for a whole warp
        float v = 0;
        for (int k = lane; k < n; k += 32) v += A[row * n + k] * B[k * n + col];
        v = warpSum(v);
        if (lane == 0) C[row * n + col] = v;
    }
}
