//!tilelab block=(8,32) grid=(ceil(Width/32), ceil(Width/32)) tile=32
#define FETCH_FLOAT4(pointer) (reinterpret_cast<float4*>(&(pointer))[0])
#define TB 32
__global__ void MatrixMulKernel(float* __restrict__ A, float* __restrict__ B, float* __restrict__ C, const int n) {
    __shared__ float4 As4[TB][TB / 4];
    __shared__ float4 Bs4[TB][TB / 4];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TB + ty, col = blockIdx.x * TB + 4 * tx;
    const bool whole = n % 4 == 0;
    float4 acc = make_float4(0.f, 0.f, 0.f, 0.f);
    for (int k0 = 0; k0 < n; k0 += TB) {
        const int ka = k0 + 4 * tx, kb = k0 + ty;
        float4 a = make_float4(0.f, 0.f, 0.f, 0.f), b = a;
        if (row < n && ka < n) {
            if (whole) a = FETCH_FLOAT4(A[row * n + ka]);
            else {
                a.x = A[row * n + ka];
                if (ka + 1 < n) a.y = A[row * n + ka + 1];
                if (ka + 2 < n) a.z = A[row * n + ka + 2];
                if (ka + 3 < n) a.w = A[row * n + ka + 3];
            }
        }
        if (kb < n && col < n) {
            if (whole) b = FETCH_FLOAT4(B[kb * n + col]);
            else {
                b.x = B[kb * n + col];
                if (col + 1 < n) b.y = B[kb * n + col + 1];
                if (col + 2 < n) b.z = B[kb * n + col + 2];
                if (col + 3 < n) b.w = B[kb * n + col + 3];
            }
        }
        As4[ty][tx] = a;
        Bs4[ty][tx] = b;
        __syncthreads();
        for (int k = 0; k < TB; ++k) {
            const float left = reinterpret_cast<float*>(As4[ty])[k];
            const float4 right = Bs4[k][tx];
            acc.x += left * right.x;
            acc.y += left * right.y;
            acc.z += left * right.z;
            acc.w += left * right.w;
        }
        __syncthreads();
    }
    if (row < n && col < n) {
        if (whole) FETCH_FLOAT4(C[row * n + col]) = acc;
        else {
            C[row * n + col] = acc.x;
            if (col + 1 < n) C[row * n + col + 1] = acc.y;
            if (col + 2 < n) C[row * n + col + 2] = acc.z;
            if (col + 3 < n) C[row * n + col + 3] = acc.w;
        }
    }
}
