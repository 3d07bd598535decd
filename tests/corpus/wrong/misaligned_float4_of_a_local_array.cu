__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    __align__(16) float mine[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < 8; ++k) mine[(k + n) % 8] = k == 1 ? A[i] : B[i];
    float4 four = *(float4*)&mine[1 + (n & 2)];
    C[i] = n & 2 ? four.x + four.y : four.x + four.z;
}
