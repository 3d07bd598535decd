// warp turns pair
// reserve place for values and for indices with two counters
__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __shared__ int a, b;
    __shared__ float v[1024];
    __shared__ int at[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0) a = b = 0;
    __syncthreads();
    if (i < n) {
        v[atomicAdd(&a, 1)] = A[i] + B[i];
        at[atomicAdd(&b, 1)] = i;
    }
    __syncthreads();
    int m = min((int)blockDim.x, n - (int)(blockIdx.x * blockDim.x));
    if (t < m) C[at[t]] = v[t];
}
