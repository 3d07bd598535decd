// min and max of one location pair
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int lo, hi;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) { lo = 1 << 30; hi = -(1 << 30); }
    __syncthreads();
    if (i < n) { atomicMin(&lo, (int)A[i]); atomicMax(&hi, (int)A[i]); }
    __syncthreads();
    if (i < n) C[i] = (lo <= (int)A[i] && (int)A[i] <= hi) ? A[i] + B[i] : 0.0f;
}
