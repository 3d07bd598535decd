// C = A + B: one thread for one element.
//
// Check it with:  tilelab grade starter.cu --exercise vector-addition

__global__ void vectorAdd(const float* A, const float* B, float* C, int n) {
    // TODO: every block has threadIdx.x from 0 up. Which element does this thread compute?
    int i = threadIdx.x;

    // TODO: not every thread has an element.
    C[i] = A[i] + B[i];
}
